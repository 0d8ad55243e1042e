//! Embeddings of texts (API reference, "Create embeddings").

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::AnswerError;

/// Returns the body of a request for one vector per text.
pub fn embeddings_request(model: &str, texts: &[String]) -> Bytes {
    // The format is the default; it is sent because some gateways have another default.
    json!({"model": model, "input": texts, "encoding_format": "float"}).to_string().into()
}

#[derive(Deserialize)]
struct EmbeddingsAnswer {
    data: Vec<EmbeddingEntry>,
}

#[derive(Deserialize)]
struct EmbeddingEntry {
    /// Position of the text in the request. Some servers omit it and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Returns the vectors of a response to a request with `texts` texts, in the order of the texts.
///
/// # Errors
/// [`AnswerError`] if the response is not a list of vectors, or does not have exactly one vector per text.
pub fn read_embeddings(answer: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, AnswerError> {
    let answer: EmbeddingsAnswer = serde_json::from_slice(answer).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        AnswerError::new(format!(
            "the answer is not a list of vectors (`data[].embedding`; line {line}, column {column})"
        ))
    })?;
    if answer.data.len() != texts {
        return Err(AnswerError::new(format!("{texts} texts were answered with {} vectors", answer.data.len())));
    }
    let mut vectors = vec![None; texts];
    for (position, entry) in answer.data.into_iter().enumerate() {
        let index = entry.index.unwrap_or(position);
        match vectors.get_mut(index) {
            Some(place @ None) => *place = Some(entry.embedding),
            Some(_) => return Err(AnswerError::new(format!("two vectors are for the text with index {index}"))),
            None => {
                return Err(AnswerError::new(format!("a vector has the index {index}, but {texts} texts were sent")));
            }
        }
    }
    Ok(vectors.into_iter().flatten().collect())
}

/// Returns the message of an error response in OpenAI's format: `error.message`, or a bare `error` or `message`.
pub fn error_message(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ErrorDetail {
        Object { message: String },
        Text(String),
    }
    #[derive(Deserialize)]
    struct EmbeddingsErrorBody {
        error: Option<ErrorDetail>,
        message: Option<String>,
    }
    let body: EmbeddingsErrorBody = serde_json::from_slice(answer).ok()?;
    match body.error {
        Some(ErrorDetail::Object { message } | ErrorDetail::Text(message)) => Some(message),
        None => body.message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_the_model_and_the_texts() {
        assert_eq!(
            embeddings_request("m", &["a \"b\"".to_owned(), "c".to_owned()]),
            r#"{"model":"m","input":["a \"b\"","c"],"encoding_format":"float"}"#
        );
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let answer = br#"{"object":"list","data":[{"index":1,"embedding":[2.5],"object":"embedding"},{"index":0,"embedding":[1]}],"usage":{}}"#;
        assert_eq!(read_embeddings(answer, 2).unwrap(), [[1.0], [2.5]]);
        assert_eq!(read_embeddings(br#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#, 2).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn an_answer_without_one_vector_for_each_text_is_refused() {
        let reason = |text: &str| read_embeddings(text.as_bytes(), 2).unwrap_err().message;
        assert!(reason(r#"{"data":[{"index":0,"embedding":[1]}]}"#).contains("answered with 1"));
        assert!(
            reason(r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#).contains("two vectors")
        );
        assert!(reason(r#"{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}"#).contains("index 7"));
        for text in
            ["", "<html>", "[]", "{}", r#"{"data":[{"embedding":"AAAA"}]}"#, r#"{"data":[{"embedding":[null]}]}"#]
        {
            assert!(reason(text).contains("not a list of vectors"), "{text}");
        }
    }

    #[test]
    fn error_messages_are_found_where_servers_put_them() {
        for text in [r#"{"error":{"message":"m","code":null}}"#, r#"{"error":"m"}"#, r#"{"message":"m"}"#] {
            assert_eq!(error_message(text.as_bytes()).as_deref(), Some("m"), "{text}");
        }
        assert_eq!(error_message(b"<html>"), None);
    }
}
