export interface VersionProgram {
  version: string
  launcher: string
  node: string | undefined
}
export interface Pointer {
  version: string
  /** Version of the package that started the upgrade. */
  installed: string
}
export const packageName: string
export function dataFolder(env: Readonly<Record<string, string | undefined>>): string
export function versionsFolder(dataDir: string): string
export function versionFolder(dataDir: string, version: string): string
export function pointerFile(dataDir: string): string
export function isVersion(text: unknown): text is string
export function isPrerelease(version: string): boolean
export function compareVersions(left: string, right: string): number
export function programOf(dataDir: string, version: string): VersionProgram
export function readPointer(dataDir: string): Pointer | undefined
export function isTrusted(file: string): boolean
export function pointedProgram(
  env: Readonly<Record<string, string | undefined>>,
  installedVersion: string,
): VersionProgram | undefined
