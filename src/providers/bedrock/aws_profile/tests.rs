use super::*;

#[test]
fn a_section_has_the_values_below_its_title() {
    let text = "# c\n[default]\nregion = eu-west-1 # here\n[profile  work]\nRegion=us-west-2\n\
                s3 =\n  region = no\naws_access_key_id=A=B\n";
    let region = |titles: &[&str]| section(text, titles)[0].1.clone();
    assert_eq!(region(&["default"]), "eu-west-1");
    assert_eq!(region(&["profile work"]), "us-west-2");
    assert_eq!(section(text, &["profile work"])[2].1, "A=B");
    assert!(section(text, &["work"]).is_empty());
    assert!(section("[\n=\n]=[x", &[""]).len() < 3);
}
