/** A text page; the build inlines it (scripts/markdown-plugin.mjs). */
declare module '*.md' {
  const text: string;
  export default text;
}

/** Every `.md` page of a folder as one list, sorted by file name, its front matter read. */
declare module '*/pages:md' {
  export type Page = { readonly file: string; readonly head: unknown; readonly text: string };
  const pages: readonly Page[];
  export default pages;
}
