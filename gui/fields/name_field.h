#pragma once

#include <QComboBox>

namespace plimsoll::gui {

/// A name out of a long list: typed, completed from any part of it, or picked.
class NameField final : public QComboBox {
  Q_OBJECT

 public:
  explicit NameField(const QStringList& names, QWidget* parent = nullptr);

  /// Shows a name, in the list or not, without telling of it.
  void show_name(const QString& name);

 Q_SIGNALS:
  /// Told when a name was picked or typed to its end.
  void changed(const QString& name);

 protected:
  void wheelEvent(QWheelEvent* event) override;

 private:
  void tell();

  QString told_;
};

}  // namespace plimsoll::gui
