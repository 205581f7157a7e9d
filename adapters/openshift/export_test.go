package openshift

import "github.com/millwright-dev/millwright/adapters/internal/background"

// Settle lets the process be one that has worked for as long as Exists runs behind.
func (p *Provider) Settle() {
	p.startupLag = background.NewStartupLag(p.config.Clock, 0)
}

// Classified is [classified].
var Classified = classified
