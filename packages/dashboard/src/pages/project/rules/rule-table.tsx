import { contract, type RouteRule } from '@berth/contract'
import { ActionIcon, Group, Switch, Text } from '@mantine/core'
import { IconShield, IconTrash } from '@tabler/icons-react'
import { type Column, DataTable } from '../../../components/data-table.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { useChange } from '../../../data/change.ts'
import { offerUndo } from '../../../data/notices.tsx'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { hitText, ruleText } from '../../../rules/route-rules.ts'

interface Props {
  projectId: string
  rules: readonly RouteRule[]
}

export function RuleTable({ projectId, rules }: Props) {
  const refusal = useProjectRefusal(projectId, 'write')
  const refreshes = [contract.projects.listRules]
  const update = useChange(contract.projects.updateRule, { refreshes })
  const remove = useChange(contract.projects.removeRule, { refreshes })
  const create = useChange(contract.projects.createRule, { refreshes })
  if (rules.length === 0)
    return (
      <EmptyState icon={IconShield} title="No rules">
        A rule limits the request rate of each IP address, or blocks or allows certain IP addresses.
      </EmptyState>
    )
  const removeRule = ({ id: ruleId, kind, config, dryRun, enabled, pathPrefix, hostname, expiresAt }: RouteRule) => {
    const copy = { kind, config, dryRun, enabled, pathPrefix, hostname, expiresAt }
    remove.mutate(
      { params: { id: projectId, ruleId } },
      { onSuccess: () => offerUndo('The rule is removed.', () => create.mutate({ params: { id: projectId }, body: copy })) },
    )
  }
  const columns: Column<RouteRule>[] = [
    { title: 'Rule', isHeading: true, cell: (rule) => <Text size="sm">{ruleText(rule)}</Text> },
    { title: 'Hits', cell: hitText },
    {
      title: 'Dry run',
      cell: ({ id: ruleId, dryRun, ...rule }) => (
        <Switch
          size="xs"
          aria-label={`Dry run: ${ruleText(rule)}`}
          checked={dryRun}
          disabled={!!refusal}
          onChange={() => update.mutate({ params: { id: projectId, ruleId }, body: { dryRun: !dryRun } })}
        />
      ),
    },
    {
      title: 'Enabled',
      cell: ({ id: ruleId, enabled, ...rule }) => (
        <Switch
          size="xs"
          aria-label={`On: ${ruleText(rule)}`}
          checked={enabled}
          disabled={!!refusal}
          onChange={() => update.mutate({ params: { id: projectId, ruleId }, body: { enabled: !enabled } })}
        />
      ),
    },
    {
      title: '',
      alignRight: true,
      cell: (rule) => (
        <Group justify="flex-end">
          <ActionIcon
            variant="subtle"
            color="gray"
            disabled={!!refusal}
            title={refusal ?? 'Remove'}
            aria-label={`Remove: ${ruleText(rule)}`}
            onClick={() => removeRule(rule)}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Group>
      ),
    },
  ]
  return <DataTable label="Rules" columns={columns} rows={rules} keyOf={({ id }) => id} />
}
