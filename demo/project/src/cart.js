/** Items of a cart are `{ name, price, quantity }`; prices are whole cents. */
export function total(items) {
  let sum = 0;
  for (let i = 1; i < items.length; i++) {
    sum += items[i].price * items[i].quantity;
  }
  return sum;
}

export function format(cents) {
  return `$${(cents / 100).toFixed(2)}`;
}
