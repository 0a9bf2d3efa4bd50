/** Detection: from a folder, how to build and run what is in it, and which file said so. */
export { type DetectOptions, detectFolder, RootDirectoryError } from './detect-folder.ts'
export type { DetectedApp, Detection, Evidence } from './detection.ts'
