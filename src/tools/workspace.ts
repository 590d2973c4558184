/** The one gate to files: real paths, one lock a path, one known hash a path, atomic byte-faithful writes. */

/** Where a path leads, after links. `shown` is relative to the root with forward slashes, for messages. */
export type Location = {
  readonly path: string;
  readonly shown: string;
  readonly exists: boolean;
};

export type Workspace = {
  /** Real path of the folder that relative paths start from. */
  readonly root: string;
  /** `root` first, then the real paths of the folders added with `--add-dir`. */
  readonly roots: readonly string[];
  /**
   * Resolves a path by its deepest existing parent and its links.
   * @throws {ToolFailure} `bad-path`, `outside-workspace`.
   */
  locate(path: string): Promise<Location>;
  /**
   * The bytes of a regular file.
   * @throws {ToolFailure} `file-missing`, `not-a-file`, `too-large`, `unreadable`.
   */
  read(location: Location, maxBytes: number): Promise<Buffer>;
  /**
   * Replaces or creates a file as a whole: temp file in the same folder, mode kept, rename. Makes parent folders.
   * @throws {ToolFailure} `unwritable`, `not-a-file`.
   */
  write(location: Location, bytes: Uint8Array): Promise<void>;
  /** Runs `work` while no other holder of the same path runs; in the order of the calls. */
  lock<Result>(path: string, work: () => Promise<Result>): Promise<Result>;
};
