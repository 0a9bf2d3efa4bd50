import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'

/**
 * A Vitest reporter that writes the results of a run to the file BERTH_TEST_TALLY: every failure, the reason of every skip, and the
 * duration of each file.
 */
// biome-ignore lint/style/noDefaultExport: Vitest loads a reporter by its default export
export default class Tally {
  #endedAt = new Map()

  onTestModuleEnd(module) {
    this.#endedAt.set(module, Date.now())
  }

  onTestRunEnd(modules, unhandledErrors) {
    const tally = { passed: 0, failed: [], skipped: [], brokenFiles: [], files: [], unhandledErrors: unhandledErrors.length }
    for (const module of modules) {
      count(module, tally)
      tally.files.push(timesOf(module, this.#endedAt.get(module) ?? Date.now()))
    }
    writeFileSync(process.env.BERTH_TEST_TALLY, JSON.stringify(tally))
  }
}

/** Returns the time of the file's tests and hooks. Imports are not counted: the first file of a worker loads them for the others. */
function timesOf(module, endedAt) {
  const seconds = module.diagnostic().duration / 1000
  return { project: module.project.name, path: pathOf(module), seconds, endedAt }
}

const pathOf = (module) => relative(process.cwd(), module.moduleId)

function count(module, tally) {
  const place = [module.project.name, pathOf(module)].filter(Boolean).join(': ')
  // A file that cannot be loaded has no failed tests: without this list, it would be missing from the results.
  if (module.errors().length > 0) tally.brokenFiles.push(place)
  // The tests of a suite whose beforeAll failed are not run: its error is counted instead.
  for (const suite of module.children.allSuites())
    for (const { message } of suite.errors()) tally.failed.push({ place, name: suite.fullName, reason: message.slice(0, 500) })
  for (const test of module.children.allTests()) {
    const { state, note, errors } = test.result()
    if (state === 'passed') tally.passed++
    else if (state === 'failed')
      tally.failed.push({ place, name: test.fullName, reason: (errors?.[0]?.message ?? '').slice(0, 500) })
    else tally.skipped.push({ place, name: test.fullName, reason: note ?? suiteReason(test) })
  }
}

/** A suite that was skipped as a whole carries its reason in its title: see describeNeeding in tests/kit/machine.ts. */
function suiteReason({ fullName, options }) {
  return /\(skipped: (.+?)\) > /.exec(fullName)?.[1] ?? (options.mode === 'run' ? 'not run' : `marked ${options.mode}`)
}
