import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
// @ts-expect-error a program without types
import { lastDurations } from './durations.mjs'

const durations: Record<string, Record<string, number>> = lastDurations()

const secondsOf = ({ project, moduleId }: TestSpecification): number =>
  durations[project.name]?.[relative(project.globalConfig.root, moduleId)] ?? 0

/** Seconds from which on a file starts before all others, whatever its project. */
const long = 45

/**
 * The longest files first, by the last run: a long file that starts last would run alone at the end. The shorter ones stay
 * together by project, since a worker that changes the project loads everything again.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const location = (file: TestSpecification) => (secondsOf(file) >= long ? '' : file.project.name)
    return (await super.sort(files)).sort((one, other) => {
      const byGroup = one.project.config.sequence.groupOrder - other.project.config.sequence.groupOrder
      return byGroup || location(one).localeCompare(location(other)) || secondsOf(other) - secondsOf(one)
    })
  }
}
