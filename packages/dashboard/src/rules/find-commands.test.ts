import { expect, test } from 'vitest'
import { findCommands, matchesText } from './find-commands.ts'

const projects = [
  { id: '1', name: 'Harbour shop', slug: 'harbour-shop' },
  { id: '2', name: 'Blog', slug: 'blog' },
  { id: '3', name: 'Logs of ships', slug: 'logs' },
]
const commands = [
  { id: 'env', label: 'Variables', keywords: 'environment env' },
  { id: 'logs', label: 'Logs' },
  { id: 'redeploy', label: 'Redeploy' },
  { id: 'deployments', label: 'Deployments' },
]
const found = (query: string, currentId?: string) =>
  findCommands(query, projects, commands, currentId).map(({ project, command }) => `${project.slug} ${command?.id ?? '-'}`)

test.each([
  ['shop', ['harbour-shop -']],
  ['shop env', ['harbour-shop env']],
  ['redeploy shop', ['harbour-shop redeploy']],
  ['SHOP  log', ['harbour-shop logs']],
  ['blog de', ['blog deployments']],
  ['logs', ['logs -']],
  ['logs logs', ['logs -', 'logs logs']],
  ['env', []],
  ['nothing here', []],
])('%j finds a project, or its page or action', (query, expected) => {
  expect(found(query)).toEqual(expected)
})

test('inside a project its pages are found without its name, and the project is listed first', () => {
  expect(found('env', '2')).toEqual(['blog env'])
  expect(found('', '2')[0]).toBe('blog -')
})

test('a thousand projects give a short list', () => {
  const many = Array.from({ length: 1000 }, (_, at) => ({ id: String(at), name: `Shop ${at}`, slug: `shop-${at}` }))
  expect(findCommands('shop redeploy', many, commands)).toHaveLength(20)
})

test('pages of the organisation are found by the beginning of a word', () => {
  expect(matchesText('tok', 'Access tokens')).toBe(true)
  expect(matchesText('oken', 'Access tokens')).toBe(false)
})
