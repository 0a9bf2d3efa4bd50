import type { contract, Deployment, ReplyOf } from '@berth/contract'

type Changes = ReplyOf<typeof contract.deployments.changes>['data']

interface ChangeLine {
  name: string
  values: string[]
}

/** The differences of a deployment as lines; no line if nothing differs. */
export function changeLines({ previous, variables, settings }: Changes, commit: Deployment['commit']): ChangeLine[] {
  const lines: ChangeLine[] = [
    { name: 'Commit', values: commitChange(previous?.commit ?? null, commit) },
    { name: 'Variables added', values: variables?.added ?? [] },
    { name: 'Variables changed', values: variables?.changed ?? [] },
    { name: 'Variables removed', values: variables?.removed ?? [] },
    {
      name: 'Settings',
      values: settings.map(({ name, from, to }) =>
        from === null && to === null ? `${name} changed` : `${name}: ${from ?? 'not set'} → ${to ?? 'not set'}`,
      ),
    },
  ]
  return lines.filter(({ values }) => values.length > 0)
}

function commitChange(from: Deployment['commit'], to: Deployment['commit']): string[] {
  if (!to || from?.sha === to.sha) return []
  const text = `${to.sha.slice(0, 7)} ${to.message?.split('\n')[0] ?? ''}`.trim()
  return [from ? `${from.sha.slice(0, 7)} → ${text}` : text]
}
