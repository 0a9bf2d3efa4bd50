import { contract, type InstanceVersion, type Machine } from '@berth/contract'
import { Alert, Stack } from '@mantine/core'
import { type Fact, Facts } from '../../components/facts.tsx'
import { Section } from '../../components/section.tsx'
import { useRead } from '../../data/read.ts'
import { useSession } from '../../data/session.ts'
import { plural, sizeText } from '../../text/sizes.ts'

/** Disk, memory, load and clock of the machine, shown only to operators of the instance. */
export function MachineSection() {
  const isOperator = useSession().data?.operator ?? false
  const machine = useRead(contract.instance.machine, {}, { isEnabled: isOperator })
  const version = useRead(contract.instance.version, {}, { isEnabled: isOperator })
  if (!machine.data) return null
  const { problems } = machine.data
  return (
    <Section
      title="Machine"
      description="The machine that runs the projects. Operators are notified before its disk or memory runs out, and when its clock is wrong."
    >
      <Stack>
        {problems.map(({ kind, message, remedy }) => (
          <Alert key={kind} color="red" title={message}>
            {remedy}
          </Alert>
        ))}
        <Facts facts={[...factsOf(machine.data), ['Berth version', version.data ? versionText(version.data) : null]]} />
      </Stack>
    </Section>
  )
}

const factsOf = ({ disk, memory, load, clock }: Machine): Fact[] => [
  ['Disk', `${sizeText(disk.freeBytes)} of ${sizeText(disk.totalBytes)} free`],
  ['Inodes', disk.totalInodes > 0 ? `${Math.floor((100 * disk.freeInodes) / disk.totalInodes)}% free` : null],
  ['Memory', `${sizeText(memory.availableBytes)} of ${sizeText(memory.totalBytes)} available`],
  ['CPU', plural(load.cores, 'core')],
  [
    'Load average, 1, 5 and 15 min',
    [load.oneMinute, load.fiveMinutes, load.fifteenMinutes].map((one) => one.toFixed(2)).join(' · '),
    'wide',
  ],
  ['Clock', clockText(clock.offsetSeconds)],
]

function clockText(offsetSeconds: number | null): string {
  if (offsetSeconds === null) return 'not checked yet'
  const seconds = Math.round(Math.abs(offsetSeconds))
  return seconds <= 1 ? 'correct' : `${seconds} s ${offsetSeconds > 0 ? 'ahead' : 'behind'}`
}

function versionText({ version, newest, problem, checkedAt }: InstanceVersion): string {
  if (newest) return `${version}; ${newest} is available`
  if (problem) return `${version}; newer versions could not be listed: ${problem}`
  return checkedAt ? `${version}, the newest` : version
}
