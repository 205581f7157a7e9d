package dialect

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/millwright-dev/millwright/provider"
)

// ClassKey tells apart the classes that have to be opened.
func ClassKey(c provider.Class) provider.ClientKey {
	return account(c) + provider.ClientKey("/"+c.API+"/"+digest(c.Spec))
}

// ScopeKey tells apart what has to be listed: classes that share one list the same
// instances.
func ScopeKey(c provider.Class, t provider.Traits) string {
	scope := t.Scope
	if scope == "" {
		scope = digest(c.Spec)
	}
	return string(account(c)) + "/" + scope
}

// account is what a listing depends on whatever the spec says. The API group is
// no part of it: machines of both are looked at.
func account(c provider.Class) provider.ClientKey {
	return provider.KeyOf(c.Credentials, c.Cluster, c.Region)
}

func digest(spec []byte) string {
	sum := sha256.Sum256(spec)
	return hex.EncodeToString(sum[:8])
}
