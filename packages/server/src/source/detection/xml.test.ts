import { expect, test } from 'vitest'
import { childText, descendants, parseXml } from './xml.ts'

test('elements, attributes, text, comments and CDATA', () => {
  const root = parseXml(`<?xml version="1.0"?>
<!DOCTYPE project>
<project a="1" b='x > y'>
  <!-- <name>no</name> -->
  <name> shop &amp; co </name>
  <empty/>
  <deep><item path="a/b" /><item>2</item></deep>
  <raw><![CDATA[<a>]]></raw>
</project>`)
  expect(root).toMatchObject({ name: 'project', attributes: { a: '1', b: 'x > y' } })
  expect(childText(root, 'name')).toBe('shop & co')
  expect(childText(root, 'empty')).toBeNull()
  expect(childText(root, 'deep', 'item')).toBeNull()
  expect(descendants(root, 'item').map((item) => [item.attributes.path, item.text])).toEqual([
    ['a/b', ''],
    [undefined, '2'],
  ])
  expect(childText(root, 'raw')).toBe('<a>')
})

test('an entity declared in the file is not expanded', () => {
  expect(childText(parseXml('<!DOCTYPE a [<!ENTITY x "boom">]><a><b>&x;</b></a>'), 'b') ?? '').not.toContain('boom')
})

test.each([
  '',
  'text',
  '<a>',
  '<a></b>',
  '</a>',
  '<a',
  '<a b="></a>',
  '<!-- open',
  '<![CDATA[ open',
  `${'<a>'.repeat(200)}${'</a>'.repeat(200)}`,
])('%j is not valid XML', (text) => {
  expect(parseXml(text)).toBeNull()
})
