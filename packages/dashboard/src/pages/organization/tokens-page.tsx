import { contract, type Token } from '@berth/contract'
import { Text } from '@mantine/core'
import { IconKey } from '@tabler/icons-react'
import { useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { type Column, DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { RowButton } from '../../components/row-button.tsx'
import { Section } from '../../components/section.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { useChange } from '../../data/change.ts'
import { useRead } from '../../data/read.ts'
import { plural } from '../../text/sizes.ts'
import { AddToken } from './add-token.tsx'

/** Access tokens for programs; a token never has more permissions than its owner currently has. */
export function TokensPage() {
  const tokens = useRead(contract.access.listTokens, { query: {} })
  const [confirming, setConfirming] = useState<Token>()
  const revoke = useChange(contract.access.revokeToken, { refreshes: [contract.access.listTokens], successMessage: 'Revoked.' })
  const columns: Column<Token>[] = [
    {
      title: 'Token',
      isHeading: true,
      cell: ({ name, lastFour }) => (
        <div>
          <Text size="sm" fw={500}>
            {name}
          </Text>
          <Text size="xs" c="dimmed" className="mono">
            brt_…{lastFour}
          </Text>
        </div>
      ),
    },
    {
      title: 'Permissions',
      cell: ({ scopes }) =>
        scopes ? <span title={scopes.join(', ')}>{plural(scopes.length, 'permission')}</span> : 'all of yours',
    },
    { title: 'Projects', isWide: true, cell: ({ projectIds }) => (projectIds ? plural(projectIds.length, 'project') : 'all') },
    { title: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <TimeAgo time={lastUsedAt} /> : 'never') },
    { title: 'Expires', cell: ({ expiresAt }) => (expiresAt ? <TimeAgo time={expiresAt} /> : 'never') },
    {
      title: '',
      alignRight: true,
      cell: (one) => (
        <RowButton aria-label={`Revoke ${one.name}`} onClick={() => setConfirming(one)}>
          Revoke
        </RowButton>
      ),
    },
  ]
  return (
    <Page title="Access tokens" description="Your tokens in this organisation, for the CLI and the API.">
      <Section title="Your tokens" isFlush>
        <Loaded query={tokens}>
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState icon={IconKey} title="No tokens">
                The CLI and other programs sign in with a token. Create one below.
              </EmptyState>
            ) : (
              <DataTable label="Access tokens" columns={columns} rows={rows} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
      </Section>
      <AddToken isFirst={tokens.data?.length === 0} />
      <ConfirmDialog
        isOpen={!!confirming}
        title={`Revoke ${confirming?.name ?? ''}?`}
        action="Revoke"
        isPending={revoke.isPending}
        onConfirm={() =>
          confirming && revoke.mutate({ params: { id: confirming.id } }, { onSettled: () => setConfirming(undefined) })
        }
        onClose={() => setConfirming(undefined)}
      >
        Programs that use it lose access at once. Tokens that were created with it are revoked too.
      </ConfirmDialog>
    </Page>
  )
}
