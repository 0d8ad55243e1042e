//! Synonyms in names of tools and parameters.

/// Groups of words with the same meaning in names. Written by hand, independently of the measured data.
const GROUPS: &[&str] = &[
    "get fetch retrieve read obtain load", "find search lookup query seek", "delete remove erase destroy drop",
    "create add make new insert", "update modify edit change alter", "send submit dispatch deliver",
    "list enumerate browse", "show display view present", "start begin initiate launch",
    "stop end halt terminate finish", "calculate compute determine evaluate", "check verify validate confirm",
    "book reserve", "buy purchase order", "cancel abort revoke", "convert transform translate", "compare contrast",
    "recommend suggest propose", "play perform", "analyze examine inspect", "predict forecast estimate",
    "generate produce build", "schedule plan arrange", "track monitor follow", "copy duplicate clone",
    "rename retitle", "upload transfer", "join enter", "city town", "country nation state",
    "location place area region", "address street", "user person account member", "customer client buyer",
    "employee worker staff", "company business firm organization", "doctor physician", "weather climate",
    "temperature heat", "price cost fee amount", "quantity amount count number", "limit maximum max cap",
    "minimum min least", "date day", "time hour", "duration length period timeframe", "name title label",
    "description details summary text", "message text content body", "email mail", "phone telephone mobile",
    "file document", "path filepath location", "folder directory", "image picture photo", "video movie film clip",
    "song track music", "book novel", "author writer", "language tongue", "category type kind class genre",
    "format style layout", "color colour hue", "size dimension", "weight mass", "height altitude elevation",
    "distance range", "speed velocity rate", "value amount figure", "list array items collection",
    "id identifier key code", "number num no", "query question term", "result output answer", "source origin from",
    "destination target to", "recipient receiver", "sender from", "car vehicle automobile", "flight trip journey",
    "hotel accommodation lodging", "restaurant diner eatery", "food meal dish", "ingredient component",
    "recipe instructions", "game match", "team club squad", "player participant", "score points", "stock share equity",
    "currency money", "bank lender", "loan credit", "interest yield", "tax duty levy", "job position occupation",
    "salary wage pay", "school college university", "student pupil", "course class lesson", "grade mark score",
    "law statute legislation", "court tribunal", "case lawsuit", "crime offense", "health medical",
    "disease illness condition", "medicine drug medication", "symptom sign", "house home property", "room chamber",
    "owner proprietor", "event occasion", "ticket pass", "museum gallery", "news article story", "topic subject theme",
    "comment remark note", "review rating feedback", "picture image", "site website page", "link url",
    "password passcode", "error fault failure", "status state", "enabled active", "sort order", "page offset",
    "threshold cutoff", "side edge", "probability chance odds", "average mean", "total sum", "ratio proportion",
];

/// Returns the synonyms of a word.
pub(super) fn synonyms(word: &str) -> Vec<&'static str> {
    let groups = GROUPS.iter().map(|group| group.split(' ').collect::<Vec<_>>());
    let mut found: Vec<&str> = groups.filter(|group| group.contains(&word)).flatten().collect();
    found.retain(|other| *other != word);
    found.sort_unstable();
    found.dedup();
    found
}
