//! Server-side request forgery: forbidden addresses of APIs, in every notation.
//!
//! The trap is a local server that must not be reached. For addresses of other machines the refusal itself is the
//! proof, because an attempted connection would be reported as unreachable.

use serde_json::json;

use super::shop::{Setup, refused};
use crate::support::{Reply, Server};

async fn trap() -> Server {
    Server::always(Reply::json(200, &json!({"inside": true}))).await
}

/// Calls an API on this host with the trap's port, and checks that its address is refused.
async fn is_refused(host: &str) {
    let trap = trap().await;
    let reason = refused(Setup::at(format!("http://{host}:{}", trap.port())).call(json!({})).await);
    assert!(reason.contains("executor.allowed_addresses"), "{reason}");
    assert!(trap.received().is_empty(), "the trap was reached");
}

/// Checks the same as [`is_refused`], for URLs that the document parser may reject already.
async fn is_no_server(url: String, trap: &Server) {
    refused(Setup::at(url).call(json!({})).await);
    assert!(trap.received().is_empty(), "the trap was reached");
}

#[tokio::test]
async fn loopback() {
    is_refused("127.0.0.1").await;
}

#[tokio::test]
async fn loopback_beyond_its_first_address() {
    is_refused("127.255.255.254").await;
}

#[tokio::test]
async fn loopback_in_two_parts() {
    is_refused("127.1").await;
}

#[tokio::test]
async fn loopback_in_three_parts() {
    is_refused("127.0.1").await;
}

#[tokio::test]
async fn loopback_as_one_decimal_number() {
    is_refused("2130706433").await;
}

#[tokio::test]
async fn loopback_as_one_hexadecimal_number() {
    is_refused("0x7f000001").await;
}

#[tokio::test]
async fn loopback_as_one_octal_number() {
    is_refused("017700000001").await;
}

#[tokio::test]
async fn loopback_in_hexadecimal_parts() {
    is_refused("0x7f.0x0.0x0.0x1").await;
}

#[tokio::test]
async fn loopback_in_octal_parts() {
    is_refused("0177.0000.0000.0001").await;
}

#[tokio::test]
async fn loopback_in_parts_of_different_bases() {
    is_refused("0x7f.0.00.1").await;
}

#[tokio::test]
async fn loopback_with_leading_zeros() {
    is_refused("127.000.000.001").await;
}

#[tokio::test]
async fn loopback_with_a_trailing_dot() {
    is_refused("127.0.0.1.").await;
}

#[tokio::test]
async fn loopback_in_fullwidth_digits() {
    is_refused("１２７.０.０.１").await;
}

#[tokio::test]
async fn loopback_in_circled_digits() {
    is_refused("①②⑦.⓪.⓪.①").await;
}

#[tokio::test]
async fn loopback_in_mathematical_digits() {
    is_refused("𝟏𝟐𝟕.𝟎.𝟎.𝟏").await;
}

#[tokio::test]
async fn loopback_with_ideographic_full_stops() {
    is_refused("127。0。0。1").await;
}

#[tokio::test]
async fn loopback_percent_encoded() {
    is_refused("%31%32%37.0.0.1").await;
}

#[tokio::test]
async fn loopback_with_characters_that_names_ignore() {
    is_refused("127.0.\u{ad}0.1").await;
}

#[tokio::test]
async fn loopback_with_a_tab_within() {
    is_refused("127.0.\t0.1").await;
}

#[tokio::test]
async fn loopback_behind_user_information() {
    is_refused("api.example.com@127.0.0.1").await;
}

#[tokio::test]
async fn loopback_behind_user_information_with_a_port() {
    is_refused("api.example.com:443@127.0.0.1").await;
}

#[tokio::test]
async fn loopback_behind_two_at_signs() {
    is_refused("api.example.com@good.example.com@127.0.0.1").await;
}

#[tokio::test]
async fn this_host_as_zero() {
    is_refused("0").await;
}

#[tokio::test]
async fn this_host_as_four_zeros() {
    is_refused("0.0.0.0").await;
}

#[tokio::test]
async fn the_name_localhost() {
    is_refused("localhost").await;
}

#[tokio::test]
async fn the_name_localhost_in_capitals() {
    is_refused("LocalHost").await;
}

#[tokio::test]
async fn the_name_localhost_in_fullwidth_letters() {
    is_refused("ｌｏｃａｌｈｏｓｔ").await;
}

#[tokio::test]
async fn loopback_of_ipv6() {
    is_refused("[::1]").await;
}

#[tokio::test]
async fn loopback_of_ipv6_written_in_full() {
    is_refused("[0000:0000:0000:0000:0000:0000:0000:0001]").await;
}

#[tokio::test]
async fn the_unspecified_address_of_ipv6() {
    is_refused("[::]").await;
}

#[tokio::test]
async fn loopback_mapped_into_ipv6() {
    is_refused("[::ffff:127.0.0.1]").await;
}

#[tokio::test]
async fn loopback_mapped_into_ipv6_in_hexadecimal() {
    is_refused("[::ffff:7f00:1]").await;
}

#[tokio::test]
async fn loopback_compatible_with_ipv6() {
    is_refused("[::127.0.0.1]").await;
}

#[tokio::test]
async fn loopback_translated_by_nat64() {
    is_refused("[64:ff9b::7f00:1]").await;
}

#[tokio::test]
async fn a_private_address_translated_by_a_local_nat64() {
    is_refused("[64:ff9b:1::a00:1]").await;
}

#[tokio::test]
async fn loopback_in_a_6to4_address() {
    is_refused("[2002:7f00:1::]").await;
}

#[tokio::test]
async fn a_private_address_behind_teredo() {
    is_refused("[2001:0:4136:e378:8000:63bf:f5ff:fffe]").await;
}

#[tokio::test]
async fn a_unique_local_address() {
    is_refused("[fc00::1]").await;
}

#[tokio::test]
async fn a_link_local_address_of_ipv6() {
    is_refused("[fe80::1]").await;
}

#[tokio::test]
async fn a_link_local_address_with_a_zone() {
    let trap = trap().await;
    is_no_server(format!("http://[fe80::1%25lo]:{}", trap.port()), &trap).await;
}

#[tokio::test]
async fn a_site_local_address() {
    is_refused("[fec0::1]").await;
}

#[tokio::test]
async fn multicast_of_ipv6() {
    is_refused("[ff02::1]").await;
}

#[tokio::test]
async fn a_private_address_of_class_a() {
    is_refused("10.0.0.1").await;
}

#[tokio::test]
async fn a_private_address_of_class_b() {
    is_refused("172.31.255.255").await;
}

#[tokio::test]
async fn a_private_address_of_class_c() {
    is_refused("192.168.1.1").await;
}

#[tokio::test]
async fn a_link_local_address() {
    is_refused("169.254.1.1").await;
}

#[tokio::test]
async fn an_address_shared_by_carriers() {
    is_refused("100.64.0.1").await;
}

#[tokio::test]
async fn multicast() {
    is_refused("224.0.0.1").await;
}

#[tokio::test]
async fn broadcast() {
    is_refused("255.255.255.255").await;
}

#[tokio::test]
async fn a_reserved_address() {
    is_refused("240.0.0.1").await;
}

#[tokio::test]
async fn an_address_for_benchmarks() {
    is_refused("198.18.0.1").await;
}

#[tokio::test]
async fn metadata_of_most_clouds() {
    is_refused("169.254.169.254").await;
}

#[tokio::test]
async fn metadata_of_most_clouds_as_one_number() {
    is_refused("2852039166").await;
}

#[tokio::test]
async fn metadata_of_most_clouds_in_octal_parts() {
    is_refused("0251.0376.0251.0376").await;
}

#[tokio::test]
async fn metadata_of_amazon_s_containers() {
    is_refused("169.254.170.2").await;
}

#[tokio::test]
async fn metadata_of_amazon_over_ipv6() {
    is_refused("[fd00:ec2::254]").await;
}

#[tokio::test]
async fn metadata_of_google_over_ipv6() {
    is_refused("[fd20:ce::254]").await;
}

#[tokio::test]
async fn metadata_of_azure() {
    is_refused("168.63.129.16").await;
}

#[tokio::test]
async fn metadata_of_alibaba() {
    is_refused("100.100.100.200").await;
}

#[tokio::test]
async fn metadata_of_oracle() {
    is_refused("192.0.0.192").await;
}

#[tokio::test]
async fn backslashes_in_place_of_slashes() {
    let trap = trap().await;
    is_no_server(format!(r"http:\\127.0.0.1:{}\r", trap.port()), &trap).await;
}

#[tokio::test]
async fn no_scheme_before_the_host() {
    let trap = trap().await;
    is_no_server(format!("//127.0.0.1:{}", trap.port()), &trap).await;
}

#[tokio::test]
async fn the_default_of_a_server_variable() {
    let trap = trap().await;
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "http://{host}/", "variables": {"host": {"default": format!("127.0.0.1:{}", trap.port())}}}],
        "paths": {"/r": {"get": {"operationId": "use", "responses": {"200": {"description": "Done."}}}}}
    });
    let mut setup = Setup::at("");
    setup.document = Some(document);
    assert!(refused(setup.call(json!({})).await).contains("executor.allowed_addresses"));
    assert!(trap.received().is_empty());
}

#[tokio::test]
async fn the_operator_s_base_url_needs_the_operator_s_permission_too() {
    let trap = trap().await;
    let mut setup = Setup::at("https://api.example.com");
    setup.toolset.base_url = trap.url("");
    assert!(refused(setup.call(json!({})).await).contains("executor.allowed_addresses"));
    assert!(trap.received().is_empty());
}

#[tokio::test]
async fn an_address_beside_the_allowed_one() {
    let trap = trap().await;
    let setup = Setup::at(format!("http://127.0.0.2:{}", trap.port())).allowing(&["127.0.0.1", "10.0.0.0/8"]);
    assert!(refused(setup.call(json!({})).await).contains("127.0.0.2"));
}

#[tokio::test]
async fn a_file_of_this_machine() {
    let reason = refused(Setup::at("file:///etc/passwd").call(json!({})).await);
    assert!(reason.contains("base_url"), "{reason}");
}

#[tokio::test]
async fn schemes_that_speak_other_protocols() {
    for scheme in ["gopher", "ftp", "ws", "data", "javascript", "unix", "dict"] {
        let trap = trap().await;
        is_no_server(format!("{scheme}://127.0.0.1:{}/r", trap.port()), &trap).await;
    }
}
