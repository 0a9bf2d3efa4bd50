/** Placeholder of a variable's value in a plan: plans are stored unsealed, variables sealed. */
export const mark = (name: string): string => `\u0002${name}\u0003`
export const marks = /\u0002([A-Za-z_][A-Za-z0-9_]*)\u0003/g
