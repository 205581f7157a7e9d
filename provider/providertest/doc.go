// Package providertest judges providers: a conformance suite that every
// provider runs against its test double ([Run]), a decorator that brings faults
// on demand ([Faults]), and a small in-memory infrastructure with a provider
// that conforms ([Cloud]).
//
// A check of the suite is a function that returns an error ([Checks]), so that
// the suite itself can be tested: it must pass a correct provider and fail each
// of a set of deliberately broken ones.
package providertest
