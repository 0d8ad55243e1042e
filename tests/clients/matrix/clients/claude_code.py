"""Claude Code in its non-interactive mode."""

import json

from cli import BIN, QUESTION, Home, check, run_models
from harness import KEY


def run(base_url, model):
    with Home() as home:
        command = [str(BIN / "claude"), "-p", QUESTION, "--model", model, "--allowedTools", "Bash"]
        output = home.run(
            [*command, "--output-format", "json", "--max-turns", "12"],
            ANTHROPIC_BASE_URL=base_url,
            ANTHROPIC_API_KEY=KEY,
            ANTHROPIC_DEFAULT_HAIKU_MODEL="text",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            CLAUDE_CODE_MAX_RETRIES="0",
        )
    if not output.stdout.startswith("{"):
        return (output.stderr or output.stdout).strip()[-400:]
    result = json.loads(output.stdout)
    text = result.get("result") or ""
    return check(model, text, f"{result['subtype']}: {text}"[:300] if result["is_error"] else None)


if __name__ == "__main__":
    run_models(run)
