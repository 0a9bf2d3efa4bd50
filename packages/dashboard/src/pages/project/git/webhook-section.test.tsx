import { contract, type Project } from '@berth/contract'
import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { renderToString } from 'react-dom/server'
import { expect, test, vi } from 'vitest'
import { keyOf } from '../../../data/query-key.ts'
import { WebhookSection } from './webhook-section.tsx'

// The API client reads its address when it is loaded.
vi.hoisted(() => vi.stubGlobal('window', { location: { origin: 'http://berth.test' } }))

const project = {
  id: 'prj_a',
  source: { kind: 'git', gitUrl: 'https://git.test/a.git' },
  routes: [],
  config: {},
} as unknown as Project

/** The section's markup before any request is answered, with the given repository in the cache. */
function markup(repository?: object) {
  const client = new QueryClient()
  if (repository) client.setQueryData(keyOf(contract.projects.getGit, { params: { id: project.id } }), { data: repository })
  return renderToString(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <WebhookSection project={project} />
      </QueryClientProvider>
    </MantineProvider>,
  )
}

const webhook = { active: false, url: null, lastDeliveryAt: null, problem: null }

test('a missing webhook is reported once the repository has been read, not while it is loading', () => {
  expect(markup({ webhook })).toContain('No webhook is registered')
  expect(markup({ webhook: { ...webhook, active: true } })).toContain('The webhook is registered')
  expect(markup()).not.toContain('No webhook is registered')
})
