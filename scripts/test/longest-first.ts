import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take a minute or more, the longest first: one that began last would run on alone while all else is done. */
const long = [
  'e2e/dashboard-addresses',
  'e2e/servers',
  'e2e/compose',
  'e2e/backups.',
  'runtime/suite-server',
  'e2e/adopt',
  'e2e/backups-databases',
  'e2e/transfer',
  'e2e/deploy-life',
  'docker/docker-attack',
  'e2e/deploy-killed',
  'e2e/takeover',
  'e2e/instance-backup',
  'e2e/dashboard-journeys',
  'e2e/cli-commands',
  'e2e/server-life',
  'docker/docker-runtime',
  'runtime/suite-docker',
  'process/fixed-port',
  'tools/toolbox',
  'e2e/sleep',
  'backups/killed',
  'backups/faults',
]

const rank = ({ moduleId }: TestSpecification): number => {
  const at = long.findIndex((part) => moduleId.includes(part))
  return at === -1 ? long.length : at
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}
