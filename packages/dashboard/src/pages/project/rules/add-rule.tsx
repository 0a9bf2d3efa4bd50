import { contract } from '@berth/contract'
import { Group, NativeSelect, NumberInput, Stack, Switch, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActionButton } from '../../../components/action-button.tsx'
import { AddSection } from '../../../components/add-section.tsx'
import { submitting } from '../../../components/submitting.ts'
import { useChange } from '../../../data/change.ts'
import { useProjectRefusal } from '../../../data/refusal.ts'
import { type RuleForm, ruleBody } from '../../../rules/route-rules.ts'

const empty: RuleForm = {
  kind: 'rate-limit',
  pathPrefix: '',
  requests: 60,
  windowSeconds: 60,
  addresses: '',
  allow: '',
  deny: '',
  dryRun: true,
}

const kinds = [
  { value: 'rate-limit', label: 'Rate limit per IP address' },
  { value: 'ban', label: 'Block IP addresses' },
  { value: 'allow-deny', label: 'Allow only some IP addresses' },
]

export function AddRule({ projectId, isFirst }: { projectId: string; isFirst: boolean }) {
  const [form, setForm] = useState(empty)
  const refusal = useProjectRefusal(projectId, 'write')
  const create = useChange(contract.projects.createRule, {
    refreshes: [contract.projects.listRules],
    successMessage: 'Rule added.',
  })
  const set = (change: Partial<RuleForm>) => setForm({ ...form, ...change })
  const add = () => create.mutate({ params: { id: projectId }, body: ruleBody(form) }, { onSuccess: () => setForm(empty) })
  const addresses = (label: string, name: 'addresses' | 'allow' | 'deny', required = false) => (
    <Textarea
      label={label}
      description="IP addresses or CIDR ranges (203.0.113.0/24), separated by commas or new lines"
      required={required}
      autosize
      minRows={1}
      classNames={{ input: 'mono' }}
      value={form[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  )
  return (
    <AddSection title="Add a rule" isFirst={isFirst} refusal={refusal}>
      <form onSubmit={submitting(add)}>
        <Stack>
          <NativeSelect
            label="Action"
            data={kinds}
            value={form.kind}
            onChange={(event) => set({ kind: event.currentTarget.value as RuleForm['kind'] })}
          />
          {form.kind === 'rate-limit' && (
            <Group grow>
              <NumberInput
                label="Requests"
                min={1}
                value={form.requests}
                onChange={(value) => set({ requests: Number(value) })}
              />
              <NumberInput
                label="Per (seconds)"
                min={1}
                value={form.windowSeconds}
                onChange={(value) => set({ windowSeconds: Number(value) })}
              />
            </Group>
          )}
          {form.kind === 'ban' && addresses('Block', 'addresses', true)}
          {form.kind === 'allow-deny' && (
            <>
              {addresses('Allow only', 'allow')}
              {addresses('Block', 'deny')}
            </>
          )}
          <TextInput
            label="Only for a path"
            description="Whole segments: /admin covers /admin and /admin/users, not /administrator"
            placeholder="all paths"
            pattern="/.*"
            title="Begins with /"
            value={form.pathPrefix}
            onChange={(event) => set({ pathPrefix: event.currentTarget.value })}
          />
          <Switch
            label="Dry run: count matching requests without blocking them"
            checked={form.dryRun}
            onChange={(event) => set({ dryRun: event.currentTarget.checked })}
          />
          <Group justify="flex-end">
            <ActionButton type="submit" refusal={refusal} loading={create.isPending}>
              Add the rule
            </ActionButton>
          </Group>
        </Stack>
      </form>
    </AddSection>
  )
}
