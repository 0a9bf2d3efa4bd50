/** Detection: from a folder, how to build and run what is in it, and which file said so. */
export { cleanName, type DetectOptions, detectFolder } from './detect-folder.ts'
export type { DetectedApp, Detection, Evidence } from './detection.ts'
export { knownFrameworks, knownPackageManagers } from './known-names.ts'
export { RootDirectoryError } from './root-directory-error.ts'
export { SourceFileError } from './source-file-error.ts'
