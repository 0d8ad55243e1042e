// Converts documents to JSON: convert.cjs DOCUMENTS OUT, with lines `INDEX FILE` on standard input, run in the folder
// of node_modules. Swagger 2.0 is converted to OpenAPI 3.0 and small errors are repaired, because the validator does
// not support Swagger 2.0. Other documents keep their version. Unreadable documents are reported on standard error.
const fs = require("fs");
const path = require("path");
const readline = require("readline");
const { createRequire } = require("module");
const here = createRequire(path.join(process.cwd(), "package.json"));
const converter = here("swagger2openapi");
const yaml = here("yaml");

const [documents, out] = process.argv.slice(2);

function read(file) {
  const text = fs.readFileSync(file, "utf8").replace(/^\ufeff/, "");
  try {
    return JSON.parse(text);
  } catch {
    return yaml.parse(text, { prettyErrors: true, maxAliasCount: -1 });
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [, index, file] = line.match(/^(\d+) (.*)$/);
    const source = path.join(documents, file);
    try {
      let document = read(source);
      if (document.swagger) {
        const settings = { patch: true, warnOnly: true, resolve: true, source };
        document = (await converter.convertObj(document, settings)).openapi;
        document["x-converted"] = true;
      }
      fs.writeFileSync(path.join(out, `${index}.json`), JSON.stringify(document));
    } catch (error) {
      console.error(`${file}: ${error.message}`);
    }
  }
}

main();
