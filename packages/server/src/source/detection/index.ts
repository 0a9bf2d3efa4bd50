/** Detection: how to build and run a folder, with the evidence for it. */
export { cleanName, type DetectOptions, detectFolder } from './detect-folder.ts'
export type { DetectedApp, Detection, Evidence, ExampleVariables } from './detection.ts'
export { knownFrameworks, knownPackageManagers } from './known-names.ts'
export { RootDirectoryError } from './root-directory-error.ts'
export { SourceFileError } from './source-file-error.ts'
