/** Stands in a plan for the value of a variable: a plan is kept as it is, while variables are sealed. */
export const mark = (name: string): string => `\u0002${name}\u0003`
export const marks = /\u0002([A-Za-z_][A-Za-z0-9_]*)\u0003/g
