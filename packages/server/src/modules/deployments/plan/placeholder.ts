/** Placeholder of a variable's value in a plan: plans are stored unsealed, variables sealed. */
export const placeholder = (name: string): string => `\u0002${name}\u0003`
export const placeholders = /\u0002([A-Za-z_][A-Za-z0-9_]*)\u0003/g
