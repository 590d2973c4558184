/** How much of a model's window a request may take, and what a refusal says of its size. */

const REPLY_TOKENS = 8_192;
const REPLY_SHARE = 0.25;

/** Tokens that a request may have, so that its reply fits behind it; `maxTokens` is the limit of the reply, if set. */
export function roomIn(windowTokens: number, maxTokens = REPLY_TOKENS): number {
  return windowTokens - Math.min(maxTokens, Math.floor(windowTokens * REPLY_SHARE));
}

/** How endpoints name the window when a request does not fit: OpenAI and its like, llama.cpp, Anthropic, Gemini, xAI. */
const WINDOW_IN_WORDS = [
  /maximum (?:context|model|prompt) length (?:of|is|:)?\s*(?:only\s*)?([\d,]{4,})/i,
  /context (?:window|length|size)(?: of| is| limit)?\D{0,24}?([\d,]{4,})/i,
  /n_ctx\D{0,6}([\d,]{4,})/i,
  />\s*([\d,]{4,})\s*(?:tokens\s*)?maximum/i,
  /maximum number of tokens(?: allowed)?\D{0,10}([\d,]{4,})/i,
  /exceed\w*\D{0,40}(?:limit|maximum)\D{0,10}([\d,]{4,})/i,
];

/** The window that a refusal names; undefined where it names none. */
export function windowInWords(refusal: string): number | undefined {
  for (const pattern of WINDOW_IN_WORDS) {
    const tokens = Number(pattern.exec(refusal)?.[1]?.replaceAll(',', ''));
    if (tokens >= 1_000) return tokens;
  }
  return undefined;
}
