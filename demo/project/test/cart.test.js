import assert from 'node:assert/strict';
import { test } from 'node:test';
import { format, total } from '../src/cart.js';

test('an empty cart costs nothing', () => {
  assert.equal(total([]), 0);
});

test('every item counts, times its quantity', () => {
  const items = [
    { name: 'tea', price: 450, quantity: 2 },
    { name: 'cup', price: 1200, quantity: 1 },
  ];
  assert.equal(format(total(items)), '$21.00');
});
