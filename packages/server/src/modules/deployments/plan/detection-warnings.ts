/** The warnings of detection that still apply: a start command in the settings removes the warning about a missing one. */
export const applicableWarnings = (warnings: readonly string[], startCommand: string | null | undefined): string[] =>
  warnings.filter((warning) => !(startCommand && missingStart.test(warning)))

/** Plans that an earlier version has stored have the text "nothing says how to start it". */
const missingStart = /^(?:no (?:build or )?start command was found|nothing .*says how to (?:build or )?start it)/
