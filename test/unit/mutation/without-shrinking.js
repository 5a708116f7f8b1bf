// A property that fails has noticed the change. That is enough; its smallest counterexample would take seconds.
require('fast-check').configureGlobal({ endOnFailure: true });
