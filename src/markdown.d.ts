/** A text page; the build inlines it (scripts/markdown-plugin.mjs). */
declare module '*.md' {
  const text: string;
  export default text;
}

/** Every `.md` page of a folder, sorted by file name, as one list. */
declare module '*/pages:md' {
  const pages: readonly { readonly file: string; readonly text: string }[];
  export default pages;
}
