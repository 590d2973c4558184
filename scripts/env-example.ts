/** Writes .env.example from the schema. `--print` shows it instead, `--table` shows the README's table. */
import { writeFileSync } from 'node:fs';
import { configTable, envExample } from '../src/config/describe.js';

if (process.argv.includes('--table')) process.stdout.write(configTable());
else if (process.argv.includes('--print')) process.stdout.write(envExample());
else writeFileSync('.env.example', envExample());
