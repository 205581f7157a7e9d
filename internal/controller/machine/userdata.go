package machine

import (
	"context"
	"fmt"

	"github.com/millwright-dev/millwright/internal/bootstrap"
	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/internal/node"
)

// bootData renders the machine's user data, with a bootstrap token of its own
// where the user data asks for one.
func (p *pass[M]) bootData(ctx context.Context) ([]byte, error) {
	values := bootstrap.Values{MachineName: p.view.Name}
	if p.needsToken() {
		token, err := p.Nodes.Token(ctx, node.TokenRequest{
			Machine: p.tokenOwner(), Lifetime: p.class.TokenLifetime, Groups: p.class.TokenGroups,
		})
		if err != nil {
			return nil, fmt.Errorf("make a bootstrap token: %w", err)
		}
		values.Token = token
	}
	out, _ := bootstrap.Render(p.class.UserData, values)
	return out, nil
}

func (p *pass[M]) needsToken() bool {
	return p.Nodes.Exists() && bootstrap.NeedsToken(p.class.UserData)
}

func (p *pass[M]) tokenOwner() bootstrap.Owner {
	return bootstrap.Owner{Key: p.view.Namespace + "/" + p.view.Name, UID: p.view.UID}
}

// dropToken takes the token away once it has served, or cannot serve any more.
// A token that stays behind expires by itself.
func (p *pass[M]) dropToken(ctx context.Context, out lifecycle.Outcome) {
	joined := out.Stage == lifecycle.StageRunning && !p.view.HadNode()
	if !joined && !out.Did(lifecycle.Release) || !p.needsToken() {
		return
	}
	if err := p.Nodes.DropToken(ctx, p.tokenOwner()); err != nil {
		p.log.Error(err, "cannot delete the bootstrap token; it expires by itself")
	}
}
