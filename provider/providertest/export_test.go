package providertest

import "github.com/millwright-dev/millwright/provider"

// ForgetTokens makes every token that p gives to its cloud from now on a new one.
func ForgetTokens(p provider.Provider) {
	c := p.(cloudProvider).cloud
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.vms {
		v.token = ""
	}
}
