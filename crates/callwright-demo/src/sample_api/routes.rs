//! Computation of routes of `openapi/route-planner.yaml`.

use serde_json::{Value, json};

use super::definition::Fields;

const ILLEGAL: &str = "illegal";
const UNDOCUMENTED_VALUE: &str = "undocumented";
const OUTSIDE: &str = "outside";

/// Maximum number of routes in a response (`maximum` of `max_results`).
const MOST_ROUTES: usize = 3;

/// Mean radius of the earth in metres (IUGG).
const EARTH_RADIUS_METRES: f64 = 6_371_008.8;

/// Plans routes. An invalid request has status 400 instead of 200, because the request is at fault; the status adds
/// nothing to the code.
pub(super) fn plan(fields: &Fields) -> Result<Value, &'static str> {
    let origin = RoutePoint::parse(fields.text("origin").unwrap_or_default())?;
    let destination = RoutePoint::parse(fields.text("destination").unwrap_or_default())?;
    let mode = fields.text("mode").unwrap_or("driving");
    let kilometres_per_hour = match mode {
        "driving" => 45.0,
        "cycling" => 15.0,
        "walking" => 4.8,
        _ => return Err(UNDOCUMENTED_VALUE),
    };
    let avoid_tolls: bool = parse(fields.text("avoid_tolls"), false)?;
    let max_results: usize = parse(fields.text("max_results"), 1)?;
    if !(1..=MOST_ROUTES).contains(&max_results) {
        return Err(UNDOCUMENTED_VALUE);
    }
    let mut routes = Vec::new();
    // Roads are a quarter longer than the beeline, and each alternative a tenth longer than the previous one.
    let mut metres = origin.metres_to(&destination) * 1.25;
    for alternative in 0..=MOST_ROUTES {
        let tolls = mode == "driving" && alternative % 2 == 0;
        if routes.len() < max_results && !(avoid_tolls && tolls) {
            routes.push(json!({
                "summary": format!("{mode}, alternative {}", routes.len() + 1),
                "distance_m": metres.round() as u64,
                "duration_s": (metres * 3.6 / kilometres_per_hour).round() as u64,
                "tolls": tolls,
            }));
        }
        metres *= 1.1;
    }
    Ok(routes.into())
}

fn parse<T: std::str::FromStr>(text: Option<&str>, default: T) -> Result<T, &'static str> {
    text.map_or(Ok(default), |text| text.parse().map_err(|_| UNDOCUMENTED_VALUE))
}

/// Point on the map, in degrees.
#[derive(Debug, PartialEq)]
struct RoutePoint {
    longitude: f64,
    latitude: f64,
}

impl RoutePoint {
    /// Parses `longitude,latitude`.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (longitude, latitude) = text.split_once(',').ok_or(ILLEGAL)?;
        let (longitude, latitude) = (degrees(longitude, 180.0)?, degrees(latitude, 90.0)?);
        let served = (134.0..=137.0).contains(&longitude) && (33.0..=36.0).contains(&latitude);
        if served { Ok(Self { longitude, latitude }) } else { Err(OUTSIDE) }
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
fn degrees(text: &str, most: f64) -> Result<f64, &'static str> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = text.parse().map_err(|_| ILLEGAL)?;
    if plain && decimals <= 6 && value.abs() <= most { Ok(value) } else { Err(ILLEGAL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longitude_comes_first_and_has_at_most_six_decimals() {
        assert_eq!(RoutePoint::parse("135.7588,34.9858"), Ok(RoutePoint { longitude: 135.7588, latitude: 34.9858 }));
        for illegal in ["34.9858,135.7588", "135.75881234,34.9", "135.7588", "135.7588;34.9858", "1e2,34.9", "NaN,34"] {
            assert_eq!(RoutePoint::parse(illegal), Err(ILLEGAL), "{illegal}");
        }
        assert_eq!(RoutePoint::parse("13.4050,52.5200"), Err(OUTSIDE));
    }

    #[test]
    fn kyoto_is_about_forty_kilometres_from_osaka() {
        let kyoto = RoutePoint { longitude: 135.7588, latitude: 34.9858 };
        let osaka = RoutePoint { longitude: 135.5258, latitude: 34.6873 };
        let kilometres = kyoto.metres_to(&osaka) / 1_000.0;
        assert!((39.0..40.0).contains(&kilometres), "{kilometres}");
    }
}
