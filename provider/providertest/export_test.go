package providertest

import "github.com/millwright-dev/millwright/provider"

// ForgetTokens gives every creation of p a new token from now on.
func ForgetTokens(p provider.Provider) {
	c := p.(cloudProvider).cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.vms {
		v.token = ""
	}
}
