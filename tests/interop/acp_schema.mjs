// Compares the messages of `gosling acp` that a test run has recorded with the schema of the official SDK:
//   node acp_schema.mjs FOLDER RECORD
// FOLDER has node_modules with @agentclientprotocol/sdk and ajv; RECORD has a line of JSON for each message,
// {answers: the method that a response answers, message}. Prints counts; exit status 1 if a message is invalid.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [folder, record] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(folder), 'package.json'));
const Ajv = require('ajv/dist/2020.js').default;
const sdk = path.join(folder, 'node_modules/@agentclientprotocol/sdk');
const file = ['schema/v1/schema.json', 'schema/schema.json'].find((name) => fs.existsSync(path.join(sdk, name)));
const ajv = new Ajv({ strict: false, validateFormats: false });

// By method; what only the draft has is of the draft.
const params = {};
const results = {};
for (const [id, of] of [['draft', 'schema/v1/schema.unstable.json'], ['acp', file]]) {
  const schema = JSON.parse(fs.readFileSync(path.join(sdk, of), 'utf8'));
  ajv.addSchema(schema, id);
  for (const [name, definition] of Object.entries(schema.$defs)) {
    const method = definition['x-method'];
    // gosling sends a request where the draft has a notification of the same name, too.
    const isOther = name.endsWith('Notification') && params[method]?.endsWith('Request');
    if (method && !isOther) (name.endsWith('Response') ? results : params)[method] = `${id}#/$defs/${name}`;
  }
}

const counts = {};
let invalid = 0;
const check = (kind, name, value, message) => {
  counts[kind] = (counts[kind] ?? 0) + 1;
  const validate = name && ajv.getSchema(name);
  if (validate && validate(value)) return;
  invalid += 1;
  const why = validate ? ajv.errorsText(validate.errors) : 'not in the schema';
  console.log(`${kind}: ${why}: ${JSON.stringify(message).slice(0, 500)}`);
};
for (const line of fs.readFileSync(record, 'utf8').split('\n').filter(Boolean)) {
  const { answers, message } = JSON.parse(line);
  const update = message.params?.update?.sessionUpdate;
  // Goose's own methods are not in this schema.
  if (message.method?.startsWith('_')) {
    counts[message.method] = (counts[message.method] ?? 0) + 1;
  } else if (message.method) {
    check(update ? `update ${update}` : message.method, params[message.method], message.params, message);
  } else if (message.error) {
    check('error', 'acp#/$defs/Error', message.error, message);
  } else if (results[answers]) {
    check(`result of ${answers}`, results[answers], message.result, message);
  } else {
    counts[`result of ${answers}`] = (counts[`result of ${answers}`] ?? 0) + 1;
  }
}
for (const [kind, count] of Object.entries(counts).sort()) console.log(`${String(count).padStart(5)} ${kind}`);
const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
console.log(`${total} messages, ${invalid} invalid`);
process.exit(invalid || !total ? 1 : 0);
