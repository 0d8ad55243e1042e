"""Codex CLI with a model provider of its own configuration file."""

import json

from cli import BIN, QUESTION, Home, check, run_models
from harness import KEY

CONFIG = """
model = "{model}"
model_provider = "callwright"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.callwright]
name = "Callwright"
base_url = "{base_url}/v1"
env_key = "MATRIX_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


def run(base_url, model):
    with Home() as home:
        folder = home.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(CONFIG.format(model=model, base_url=base_url))
        command = [str(BIN / "codex"), "exec", "--skip-git-repo-check", "--json", QUESTION]
        output = home.run(command, CODEX_HOME=str(folder), MATRIX_KEY=KEY)
    text, problem = "", None
    for line in output.stdout.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        item = event.get("item", {})
        if event.get("type") in ("error", "turn.failed"):
            problem = f"{event.get('message') or event.get('error')}"[:300]
        if event.get("type") == "item.completed" and item.get("type") == "agent_message":
            text = item["text"]
    if not text and not problem:
        problem = output.stderr.strip()[-300:]
    return check(model, text, problem)


if __name__ == "__main__":
    run_models(run)
