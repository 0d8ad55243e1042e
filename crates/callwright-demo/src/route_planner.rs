//! Route planner API of `openapi/route-planner.yaml`, served over HTTP.
//!
//! It answers an invalid request with a bare code, as many vendors do. The status is 400 instead of 200, because the
//! request is at fault; the status adds nothing to the code.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::DemoError;
use super::server::{Handler, Reply, Request, Server};

/// Accepted API key. It gives access only to a server on loopback that ends with the process.
pub(super) const KEY: &str = "demo-route-key";

/// Maximum number of routes in a response (`maximum` of `max_results`).
const MOST_ROUTES: usize = 3;

/// Mean radius of the earth in metres (IUGG).
const EARTH_RADIUS_METRES: f64 = 6_371_008.8;

/// Known places: name, longitude, latitude; best known first.
const PLACES: [(&str, f64, f64); 6] = [
    ("Kyoto Station", 135.7588, 34.9858),
    ("Osaka Castle", 135.5258, 34.6873),
    ("Fushimi Inari Shrine", 135.7727, 34.9671),
    ("Kinkaku-ji", 135.7292, 35.0394),
    ("Nara Park", 135.8430, 34.6851),
    ("Himeji Castle", 134.6939, 34.8394),
];

/// Sample API.
#[derive(Debug)]
pub struct RoutePlanner;

impl RoutePlanner {
    /// Starts the API on a free loopback port. Its base URL is the server's URL plus `/v1`.
    ///
    /// # Errors
    /// [`DemoError::Listen`].
    pub async fn start() -> Result<Server, DemoError> {
        Server::start(Self).await
    }
}

impl Handler for RoutePlanner {
    async fn handle(&self, request: &Request) -> Reply {
        let result = match (&request.method, request.path.as_str()) {
            _ if request.header("x-api-key") != Some(KEY) => Err(RouteFailure::KEY),
            (&Method::GET, "/v1/route") => plan(|name| request.query(name)),
            (&Method::GET, "/v1/geocode") => geocode(request),
            _ => return Reply::json(StatusCode::NOT_FOUND, &json!({ "info_code": "20002" })),
        };
        match result {
            Ok(value) => Reply::json(StatusCode::OK, &value),
            Err(failure) => Reply::json(failure.status, &json!({ "info_code": failure.info_code })),
        }
    }
}

/// Refused request; the document explains the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RouteFailure {
    status: StatusCode,
    info_code: &'static str,
}

impl RouteFailure {
    const KEY: Self = Self { status: StatusCode::UNAUTHORIZED, info_code: "10001" };
    const ILLEGAL: Self = Self { status: StatusCode::BAD_REQUEST, info_code: "20000" };
    const MISSING: Self = Self { status: StatusCode::BAD_REQUEST, info_code: "20001" };
    const UNDOCUMENTED_VALUE: Self = Self { status: StatusCode::BAD_REQUEST, info_code: "20002" };
    const OUTSIDE: Self = Self { status: StatusCode::BAD_REQUEST, info_code: "20800" };
}

/// Returns the answer without HTTP, for the demo's client.
pub(super) fn answer<'a>(parameter: impl Fn(&str) -> Option<&'a str>) -> Value {
    plan(parameter).unwrap_or_else(|failure| json!({ "info_code": failure.info_code }))
}

fn plan<'a>(parameter: impl Fn(&str) -> Option<&'a str>) -> Result<Value, RouteFailure> {
    let origin = RoutePoint::read(parameter("origin").ok_or(RouteFailure::MISSING)?)?;
    let destination = RoutePoint::read(parameter("destination").ok_or(RouteFailure::MISSING)?)?;
    let mode = parameter("mode").unwrap_or("driving");
    let kilometres_per_hour = match mode {
        "driving" => 45.0,
        "cycling" => 15.0,
        "walking" => 4.8,
        _ => return Err(RouteFailure::UNDOCUMENTED_VALUE),
    };
    let avoid_tolls: bool = read(parameter("avoid_tolls"), false)?;
    let max_results: usize = read(parameter("max_results"), 1)?;
    if !(1..=MOST_ROUTES).contains(&max_results) {
        return Err(RouteFailure::UNDOCUMENTED_VALUE);
    }
    let beeline = origin.metres_to(&destination);
    // Roads are a quarter longer than the beeline, and each alternative a tenth longer than the previous one.
    let routes = (0..=MOST_ROUTES)
        .map(|alternative| (alternative, beeline * 1.25 * 1.1_f64.powi(i32::try_from(alternative).unwrap_or(0))))
        .map(|(alternative, metres)| (mode == "driving" && alternative % 2 == 0, metres))
        .filter(|(tolls, _)| !(avoid_tolls && *tolls))
        .take(max_results)
        .enumerate()
        .map(|(index, (tolls, metres))| {
            json!({
                "summary": format!("{mode}, alternative {}", index + 1),
                "distance_m": metres.round() as u64,
                "duration_s": (metres * 3.6 / kilometres_per_hour).round() as u64,
                "tolls": tolls,
            })
        })
        .collect::<Vec<_>>();
    Ok(json!({ "info_code": "10000", "routes": routes }))
}

fn geocode(request: &Request) -> Result<Value, RouteFailure> {
    let query = request.query("query").map(str::trim).filter(|query| !query.is_empty()).ok_or(RouteFailure::MISSING)?;
    let places = PLACES
        .iter()
        .filter(|(name, ..)| name.to_lowercase().contains(&query.to_lowercase()))
        .map(|(name, longitude, latitude)| json!({ "name": name, "longitude": longitude, "latitude": latitude }))
        .collect::<Vec<_>>();
    Ok(json!({ "info_code": "10000", "places": places }))
}

fn read<T: std::str::FromStr>(text: Option<&str>, default: T) -> Result<T, RouteFailure> {
    text.map_or(Ok(default), |text| text.parse().map_err(|_| RouteFailure::UNDOCUMENTED_VALUE))
}

/// Point on the map, in degrees.
#[derive(Debug, PartialEq)]
struct RoutePoint {
    longitude: f64,
    latitude: f64,
}

impl RoutePoint {
    /// Parses `longitude,latitude`.
    fn read(text: &str) -> Result<Self, RouteFailure> {
        let (longitude, latitude) = text.split_once(',').ok_or(RouteFailure::ILLEGAL)?;
        let (longitude, latitude) = (degrees(longitude, 180.0)?, degrees(latitude, 90.0)?);
        let served = (134.0..=137.0).contains(&longitude) && (33.0..=36.0).contains(&latitude);
        if served { Ok(Self { longitude, latitude }) } else { Err(RouteFailure::OUTSIDE) }
    }

    /// Returns the great-circle distance to another point (haversine).
    fn metres_to(&self, other: &Self) -> f64 {
        let (from, to) = (self.latitude.to_radians(), other.latitude.to_radians());
        let half_chord = ((to - from) / 2.0).sin().powi(2)
            + from.cos() * to.cos() * ((other.longitude - self.longitude).to_radians() / 2.0).sin().powi(2);
        2.0 * EARTH_RADIUS_METRES * half_chord.sqrt().asin()
    }
}

/// Parses a coordinate: plain digits, at most 6 decimals, at most `most` degrees from zero.
fn degrees(text: &str, most: f64) -> Result<f64, RouteFailure> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = text.parse().map_err(|_| RouteFailure::ILLEGAL)?;
    if plain && decimals <= 6 && value.abs() <= most { Ok(value) } else { Err(RouteFailure::ILLEGAL) }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::client;
    use super::*;

    #[test]
    fn longitude_comes_first_and_has_at_most_six_decimals() {
        assert_eq!(RoutePoint::read("135.7588,34.9858"), Ok(RoutePoint { longitude: 135.7588, latitude: 34.9858 }));
        for illegal in ["34.9858,135.7588", "135.75881234,34.9", "135.7588", "135.7588;34.9858", "1e2,34.9", "NaN,34"] {
            assert_eq!(RoutePoint::read(illegal), Err(RouteFailure::ILLEGAL), "{illegal}");
        }
        assert_eq!(RoutePoint::read("13.4050,52.5200"), Err(RouteFailure::OUTSIDE));
    }

    async fn get(server: &Server, target: &str, key: &str) -> (u16, Value) {
        let url = format!("{}/v1{target}", server.url());
        let answer = client::send(Method::GET, &url, &[("x-api-key", key)], Bytes::new()).await.unwrap();
        (answer.status.as_u16(), serde_json::from_str(&answer.text()).unwrap())
    }

    #[tokio::test]
    async fn what_it_does_not_like_is_answered_with_a_bare_code() {
        let server = RoutePlanner::start().await.unwrap();
        let good = "/route?origin=135.7588,34.9858&destination=135.5258%2C34.6873";
        let cases = [
            (good, "wrong", 401, "10001"),
            ("/route?origin=135.7588,34.9858", KEY, 400, "20001"),
            ("/route?origin=34.9858,135.7588&destination=34.6873,135.5258", KEY, 400, "20000"),
            (&format!("{good}&mode=helicopter"), KEY, 400, "20002"),
            (&format!("{good}&max_results=9"), KEY, 400, "20002"),
            (&format!("{good}&avoid_tolls=yes"), KEY, 400, "20002"),
            ("/route?origin=13.4050,52.5200&destination=135.5258,34.6873", KEY, 400, "20800"),
            ("/geocode?query=%20", KEY, 400, "20001"),
            ("/nowhere", KEY, 404, "20002"),
        ];
        for (target, key, status, code) in cases {
            assert_eq!(get(&server, target, key).await, (status, json!({ "info_code": code })), "{target}");
        }
        assert_eq!(server.requests(), 9);
    }

    #[tokio::test]
    async fn wishes_change_the_routes() {
        let server = RoutePlanner::start().await.unwrap();
        let good = "/route?origin=135.7588,34.9858&destination=135.5258,34.6873";
        let routes = async |wishes: &str| get(&server, &format!("{good}{wishes}"), KEY).await.1["routes"].clone();
        let (plain, free, cycling) =
            (routes("").await, routes("&avoid_tolls=true&max_results=2").await, routes("&mode=cycling").await);
        assert_eq!((plain[0]["tolls"].as_bool(), plain.as_array().map(Vec::len)), (Some(true), Some(1)));
        assert!(free.as_array().unwrap().iter().all(|route| route["tolls"] == false) && free[1].is_object());
        assert!(free[0]["distance_m"].as_u64() < free[1]["distance_m"].as_u64());
        assert!(cycling[0]["duration_s"].as_u64() > plain[0]["duration_s"].as_u64());
    }

    #[tokio::test]
    async fn places_are_found_by_a_part_of_their_name() {
        let server = RoutePlanner::start().await.unwrap();
        let (status, found) = get(&server, "/geocode?query=castle", KEY).await;
        assert_eq!((status, found["places"].as_array().map(Vec::len)), (200, Some(2)));
        assert_eq!(found["places"][0], json!({ "name": "Osaka Castle", "longitude": 135.5258, "latitude": 34.6873 }));
    }

    #[test]
    fn kyoto_is_about_forty_kilometres_from_osaka() {
        let kyoto = RoutePoint { longitude: 135.7588, latitude: 34.9858 };
        let osaka = RoutePoint { longitude: 135.5258, latitude: 34.6873 };
        let kilometres = kyoto.metres_to(&osaka) / 1_000.0;
        assert!((39.0..40.0).contains(&kilometres), "{kilometres}");
    }
}
