/**
 * Stands in for typebox in the browser. The page needs a route's method and path; checking bodies is the server's business, and
 * the schema builder would be a tenth of the first load. Shapes that are made of other shapes still find their `properties`.
 */
interface Shape {
  properties: Record<string, unknown>
}

const build = (from?: Record<string, unknown> | Shape): Shape => ({
  properties: ((from as Shape | undefined)?.properties ?? from ?? {}) as Record<string, unknown>,
})

export const Type = new Proxy({}, { get: () => build })
