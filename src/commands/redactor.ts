/** What all events and results pass: control sequences are taken out, then known secret values. */
import type { Redactor } from '../events/emitter.js';
import { createMasker } from '../permissions/secrets.js';
import { clean, createCleaner } from '../tools/clean.js';

export function createRedactor(secretValues: readonly string[]): Redactor {
  const masker = createMasker(secretValues);
  return {
    mask: (text) => masker.mask(clean(text)),
    stream: () => {
      const cleaner = createCleaner();
      const mask = masker.stream();
      return {
        push: (text) => mask.push(cleaner.push(text)),
        flush: () => mask.push(cleaner.flush()) + mask.flush(),
      };
    },
  };
}
