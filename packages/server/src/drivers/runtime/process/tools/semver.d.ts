/** The part of `semver` that is used; the package has no types of its own. */
declare module 'semver' {
  export class Range {
    /** Throws when the text is not a range. */
    constructor(text: string)
    test(version: string): boolean
  }
}
