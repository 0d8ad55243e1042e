//! Examples of the commands for every prompt (paper, appendix B: two or three).

/// Examples of the training stage: an answer, its feedback, and the notes.
pub(super) const TRAINING: &str = "\
Example 1
{\"question\": \"A tram ticket costs 2.40 in zone A. What does a day pass for a child cost there?\"}
THINK[A day pass may be twice the price of a ticket.]
ANSWER: 4.80
{\"feedback\": \"wrong\", \"truth\": \"2.40\"}
THINK[Twice the ticket was the price for an adult. A child pays half of that.]
NOTE[tram, day pass, child]: A day pass costs twice a ticket, and a child pays half: so as much as one ticket.
DONE

Example 2
{\"question\": \"Which ministry answers a letter about fishing rights?\"}
ANSWER: Agriculture
{\"feedback\": \"right\", \"truth\": \"Agriculture\"}
NOTE[ministry, fishing, rights]: Fishing rights belong to the ministry of agriculture, not to that of the environment.
DONE";

/// Examples of the test stage: with useful notes and without notes.
pub(super) const SOLVING: &str = "\
Example 1
{\"notes\": [{\"key\": \"tram, day pass, child\", \"value\": \"A day pass costs twice a ticket, and a child pays half: so as much as one ticket.\"}], \
\"question\": \"A tram ticket costs 3.10 in zone C. What does a day pass for a child cost there?\"}
THINK[The note says how a child's day pass is priced: as much as one ticket.]
ANSWER: 3.10

Example 2
{\"notes\": \"No relevant experience\", \"question\": \"Which river flows through Vienna?\"}
ANSWER: Danube";
