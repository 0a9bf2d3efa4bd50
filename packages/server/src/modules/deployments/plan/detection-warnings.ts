/** The warnings of detection that still apply: a start command of the settings answers the one that says there is none. */
export const applicableWarnings = (warnings: readonly string[], startCommand: string | null | undefined): string[] =>
  warnings.filter((warning) => !(startCommand && missingStart.test(warning)))

const missingStart = /^nothing .*says how to (?:build or )?start it/
