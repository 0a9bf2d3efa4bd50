import type { Page } from 'playwright-core'
import type { Filled } from '../../tests/kit/filled-instance.ts'
import type { Scene } from './scenes.ts'

/**
 * Partly completed dialogs, wizards and forms on the filled instance. A form is submitted only if each run may submit it again.
 */
export const dialogScenes = ({ projectId, deploymentId, serverId, brokenId, longNamedId }: Filled): Scene[] => {
  const project = `/projects/${projectId}`
  return [
    {
      name: 'commands',
      address: project,
      async act(page) {
        await page.keyboard.press('/')
        await page.getByPlaceholder('Search projects and pages').fill('ha')
        await page.getByRole('button', { name: /^Harbour shop/ }).waitFor()
      },
    },
    { name: 'account-menu', address: '/', act: (page) => press(page, /^Account of/) },
    { name: 'navigation', address: project, act: (page) => press(page, 'Open the navigation'), isOn: 'phone' },
    { name: 'broken-project', address: `/projects/${brokenId}` },
    { name: 'long-name', address: `/projects/${longNamedId}` },
    { name: 'nowhere', address: '/nowhere' },
    { name: 'upload-version', address: project, act: (page) => press(page, 'Upload a new version') },
    {
      name: 'roll-back',
      address: `${project}/deployments`,
      async act(page) {
        await page.getByRole('link', { name: '#1', exact: true }).click()
        await press(page, 'Roll back to this')
        await page.getByRole('button', { name: 'Roll back', exact: true }).waitFor()
      },
    },
    { name: 'deployment-search', address: `${project}/deployments/${deploymentId}`, act: searchLog },
    {
      name: 'env-text',
      isWhole: true,
      address: `${project}/env`,
      async act(page) {
        await press(page, 'Edit all as text')
        const text = page.getByLabel('All variables')
        await text.fill(`${(await text.inputValue()).replace('PUBLIC_NAME=', 'PUBLIC_TITLE=')}\nNEW_ONE=yes\n`)
      },
    },
    { name: 'env-change', address: `${project}/env`, act: (page) => press(page, 'Change PUBLIC_NAME') },
    {
      name: 'domain-remove',
      address: `${project}/domains`,
      act: (page) =>
        page
          .getByRole('button', { name: /^Remove / })
          .first()
          .click(),
    },
    {
      name: 'restore-target',
      address: `${project}/backups`,
      act: (page) => page.getByRole('button', { name: 'Restore…' }).first().click(),
    },
    { name: 'restore-staged', address: `${project}/backups`, act: stageRestore },
    { name: 'policy-change', address: `${project}/backups`, act: (page) => press(page, 'Change') },
    { name: 'policy-delete', address: `${project}/backups`, act: (page) => press(page, 'Delete') },
    {
      name: 'delete-preview',
      address: `${project}/settings`,
      async act(page) {
        await press(page, 'Delete this project')
        await page
          .getByRole('dialog')
          .getByText(/volume/i)
          .first()
          .waitFor()
      },
    },
    {
      name: 'destination-change',
      address: '/backups',
      act: (page) => page.getByRole('button', { name: /^Change local/ }).click(),
    },
    {
      name: 'channel-kinds',
      isWhole: true,
      address: '/notifications/settings',
      async act(page) {
        await press(page, 'Add…')
        await choose(page, 'Kind', 'slack')
      },
    },
    {
      name: 'token-scopes',
      isWhole: true,
      address: '/organization/tokens',
      async act(page) {
        await press(page, 'Add…')
        await page.getByLabel('Limit permissions').check()
      },
    },
    { name: 'token-made', address: '/organization/tokens', act: makeToken },
    { name: 'member-remove', address: '/organization/members', act: (page) => press(page, 'Remove viewer@example.test') },
    { name: 'server-change', address: `/servers/${serverId}`, act: (page) => press(page, 'Change') },
    { name: 'new-configure', isWhole: true, address: '/new?from=example', act: chooseExample },
  ]
}

const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, ...(typeof name === 'string' ? { exact: true } : {}) }).click()

const choose = async (page: Page, label: string, value: string) => {
  await page.getByLabel(label).first().selectOption(value)
}

async function searchLog(page: Page): Promise<void> {
  await page.getByPlaceholder('Search').fill('start')
}

async function stageRestore(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Restore…' }).first().click()
  await press(page, 'Check the backup')
  await page.getByText('Changes by this restore').waitFor()
  await page.getByText('all data was read and verified').waitFor()
}

async function makeToken(page: Page): Promise<void> {
  await press(page, 'Add…')
  await page.getByLabel('Name').fill('laptop')
  await press(page, 'Create the token')
  await page.getByRole('dialog').getByText('Copy it now').waitFor()
}

async function chooseExample(page: Page): Promise<void> {
  await press(page, 'Use the example')
  await page.getByText('Detected settings').waitFor()
}
