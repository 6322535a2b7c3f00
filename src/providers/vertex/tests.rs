use super::*;

fn url(project: &str, location: &str) -> Result<String, Error> {
    let mut parameters = Parameters::default();
    parameters.add("GCP_PROJECT_ID", project.to_owned());
    parameters.add("GCP_LOCATION", location.to_owned());
    endpoint_url(&parameters)
}

#[test]
fn the_location_chooses_the_host() {
    assert_eq!(
        url("p-1", "europe-west4").unwrap(),
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p-1/locations/europe-west4/publishers"
    );
    assert_eq!(
        url("example.com:p", "global").unwrap(),
        "https://aiplatform.googleapis.com/v1/projects/example.com:p/locations/global/publishers"
    );
}

#[test]
fn a_setting_cannot_choose_another_host() {
    for (project, location) in [
        ("p", "evil.example/"),
        ("p", "evil.example:1"),
        ("p/../q", "global"),
        ("", "global"),
        ("p", ""),
    ] {
        let error = url(project, location).unwrap_err();
        assert_eq!(error.class, ErrorClass::Config, "{project} {location}");
    }
}
