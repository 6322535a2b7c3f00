//! Schedules: recipes that run at the times of cron lines.

pub mod cron;
pub mod local_time;
