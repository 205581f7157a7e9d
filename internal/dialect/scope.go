package dialect

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/millwright-dev/millwright/provider"
)

// ClassKey distinguishes the classes that need their own session.
func ClassKey(c provider.Class) provider.ClientKey {
	return account(c) + provider.ClientKey("/"+c.API+"/"+digest(c.Spec))
}

// ScopeKey distinguishes the scopes to list: classes with the same key list the same instances.
func ScopeKey(c provider.Class, t provider.Traits) string {
	scope := t.Scope
	if scope == "" {
		scope = digest(c.Spec)
	}
	return string(account(c)) + "/" + scope
}

// account returns the part of a class on which a listing depends. The API group is not included: machines of
// both are compared with it.
func account(c provider.Class) provider.ClientKey {
	return provider.KeyOf(c.Credentials, c.Cluster, c.Region)
}

func digest(spec []byte) string {
	sum := sha256.Sum256(spec)
	return hex.EncodeToString(sum[:8])
}
