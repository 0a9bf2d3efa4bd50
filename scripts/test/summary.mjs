// The summary at the end of `npm test`: durations, skipped tests and failures.

const slowest = 20

/** Adds up the tallies of several runs of Vitest. */
export function addTallies(tallies) {
  const all = (key) => tallies.flatMap((tally) => tally[key])
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: all('failed'),
    skipped: all('skipped'),
    brokenFiles: all('brokenFiles'),
    files: all('files'),
  }
}

/** Returns lines with the seconds of each project and the slowest files. `startedAt`: start of the run in milliseconds. */
export function timeLines(files, startedAt) {
  const rows = [...new Set(files.map(({ project }) => project))].map((project) => {
    const own = files.filter((file) => file.project === project)
    return {
      project,
      count: own.length,
      seconds: own.reduce((sum, { seconds }) => sum + seconds, 0),
      from: Math.min(...own.map(({ endedAt, seconds }) => endedAt / 1000 - seconds)) - startedAt / 1000,
      to: Math.max(...own.map(({ endedAt }) => endedAt)) / 1000 - startedAt / 1000,
    }
  })
  const shown = (seconds) => String(Math.max(0, Math.round(seconds)))
  return [
    'seconds by project:',
    ...rows
      .sort((one, other) => other.seconds - one.seconds)
      .map(({ project, count, seconds, from, to }) => {
        const span = `from ${shown(from)} s to ${shown(to)} s`
        return `  ${project.padEnd(14)} ${String(count).padStart(4)} files ${shown(seconds).padStart(6)} s of tests, ${span}`
      }),
    `the ${Math.min(slowest, files.length)} slowest files:`,
    ...files
      .toSorted((one, other) => other.seconds - one.seconds)
      .slice(0, slowest)
      .map(({ project, path, seconds }) => `  ${shown(seconds).padStart(6)} s  ${project}: ${path}`),
  ]
}

/** Returns a line about the last green run of the full matrix. */
export function matrixLine(last) {
  if (!last) return 'full matrix: no green run recorded (npm run test:matrix)'
  return `full matrix: last green ${last.endedAt} at commit ${last.commit}, ${last.passed} tests (npm run test:matrix)`
}
