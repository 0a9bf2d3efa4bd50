import { contract, type EnvVariable } from '@berth/contract'
import { Badge, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { useChange } from '../../../data/change.ts'
import { useRead } from '../../../data/read.ts'
import { type ComparedVariable, type Comparison, compareEnvironments, copyableToRight } from '../../../rules/env-compare.ts'
import { plural } from '../../../text/sizes.ts'

interface Props {
  projectId: string
  environment: string
  variables: readonly EnvVariable[]
  /** The other environments. */
  others: readonly { slug: string; name: string }[]
  refusal: string | undefined
}

const labels: Record<Comparison, [string, string]> = {
  same: ['same', 'gray'],
  different: ['different', 'yellow'],
  secret: ['secret, not compared', 'gray'],
  onlyLeft: ['only here', 'yellow'],
  onlyRight: ['missing here', 'yellow'],
}

/** The variables of this environment beside those of another one, with a button that copies the readable differences. */
export function EnvCompare({ projectId, environment, variables, others, refusal }: Props) {
  const [chosen, setChosen] = useState(others[0]?.slug ?? '')
  const [isConfirming, setConfirming] = useState(false)
  const other = others.find(({ slug }) => slug === chosen) ?? others[0]
  const slug = other?.slug ?? ''
  const theirs = useRead(
    contract.projects.listEnv,
    { params: { id: projectId }, query: { environment: slug } },
    { isEnabled: slug !== '' },
  )
  const copy = useChange(contract.projects.changeEnv, { refreshes: [contract.projects.listEnv], successMessage: 'Copied.' })
  if (!other)
    return (
      <Text c="dimmed" size="sm" px={{ base: 'md', sm: 'lg' }} pb="lg">
        There is no other environment to compare with. Add one on the Environments page.
      </Text>
    )
  return (
    <Loaded query={theirs}>
      {(rows) => {
        const compared = compareEnvironments(variables, rows)
        const copied = copyableToRight(compared)
        const upserts = copied.map(({ key, value, isSecret }) => ({ key, value, isSecret }))
        return (
          <Stack gap="xs">
            <Group px={{ base: 'md', sm: 'lg' }} gap="sm" justify="space-between">
              <NativeSelect
                size="xs"
                aria-label="Compare with"
                value={slug}
                data={others.map((one) => ({ value: one.slug, label: `Compare with ${one.name}` }))}
                onChange={(event) => setChosen(event.currentTarget.value)}
              />
              <ActionButton
                size="xs"
                variant="default"
                refusal={
                  refusal ??
                  (copied.length === 0 ? 'There is no readable difference to copy. Secret values cannot be read.' : undefined)
                }
                onClick={() => setConfirming(true)}
              >
                Copy {plural(copied.length, 'variable')} to {other.name}
              </ActionButton>
            </Group>
            <DataTable label="Comparison" columns={columnsFor(other.name)} rows={compared} keyOf={({ key }) => key} />
            <ConfirmDialog
              isOpen={isConfirming}
              title={`Copy to ${other.name}?`}
              action="Copy"
              isPending={copy.isPending}
              onConfirm={() =>
                copy.mutate(
                  { params: { id: projectId }, body: { environment: slug, upserts } },
                  { onSettled: () => setConfirming(false) },
                )
              }
              onClose={() => setConfirming(false)}
            >
              <Changes copied={copied} before={rows} from={environment} />
            </ConfirmDialog>
          </Stack>
        )
      }}
    </Loaded>
  )
}

const Changes = ({ copied, before, from }: { copied: readonly EnvVariable[]; before: readonly EnvVariable[]; from: string }) => (
  <Stack gap={4}>
    <Text size="sm">These variables get the values of {from}:</Text>
    {copied.map(({ key, value }) => (
      <Text key={key} size="sm" className="wrap-anywhere">
        <span className="mono">{key}</span>: {textOf(before.find((one) => one.key === key)?.value)} → {textOf(value)}
      </Text>
    ))}
  </Stack>
)

const textOf = (value: string | null | undefined) => (value === '' ? '(empty)' : (value ?? 'not set'))

const shownValue = (variable: EnvVariable | undefined) =>
  variable ? <span className="mono">{variable.value || '(empty)'}</span> : '–'

const columnsFor = (otherName: string): Column<ComparedVariable>[] => [
  { title: 'Name', isHeading: true, cell: ({ key }) => <span className="mono">{key}</span> },
  {
    title: 'Difference',
    cell: ({ comparison }) => (
      <Badge size="sm" variant="light" color={labels[comparison][1]}>
        {labels[comparison][0]}
      </Badge>
    ),
  },
  { title: 'Here', cell: ({ left }) => shownValue(left) },
  { title: otherName, cell: ({ right }) => shownValue(right) },
]
